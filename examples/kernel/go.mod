module example.com/kernel

go 1.26
