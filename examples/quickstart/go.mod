module example.com/sorting

go 1.26
